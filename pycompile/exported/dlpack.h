/* The part of dlpack.h (github.com/dmlc/dlpack, version 1) that describes a tensor; left out where
   dlpack.h itself is included before. */
#ifndef DLPACK_VERSION
#if !defined(DLPACK_DLPACK_H_) && !defined(PYCOMPILE_DLPACK_H)
#define PYCOMPILE_DLPACK_H
#include <stdint.h>
typedef struct {
    int32_t device_type; /* 1: memory of the host */
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code, bits; /* code: 0 int, 1 unsigned, 2 float, 5 complex, 6 bool */
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
} DLTensor;
#endif
#endif
